package steeltest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Cookies of the site.
const (
	visitCookie   = "sid"     // HttpOnly: who is signed in
	pendingCookie = "pending" // HttpOnly: who has yet to give the code
)

func (s *Site) front(w http.ResponseWriter, r *http.Request) {
	s.form(w, 200, "login", mfaOf(r), "")
}

// mfaOf is the part of the form's address that asks for a code.
func mfaOf(r *http.Request) string {
	if r.URL.Query().Has("mfa") {
		return "?mfa=1"
	}
	return ""
}

// form shows a form with what was wrong.
func (s *Site) form(w http.ResponseWriter, status int, name, query, wrong string) {
	note := ""
	if wrong != "" {
		note = `<p role="alert">` + wrong + "</p>"
	}
	s.show(w, status, name, "$NOTE\n", note, "$QUERY", query)
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("email") != Email || r.PostFormValue("password") != Password {
		s.form(w, 401, "login", mfaOf(r), "Wrong email or password.")
		return
	}
	role, lasting := or(r.PostFormValue("role"), "buyer"), r.PostFormValue("remember") != ""
	if mfaOf(r) != "" {
		setCookie(w, pendingCookie, role, false)
		http.Redirect(w, r, "/code", http.StatusSeeOther)
		return
	}
	s.welcome(w, r, role, lasting)
}

func (s *Site) askCode(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(pendingCookie); err != nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.form(w, 200, "code", "", "")
}

func (s *Site) code(w http.ResponseWriter, r *http.Request) {
	pending, err := r.Cookie(pendingCookie)
	if err != nil || r.PostFormValue("code") != Code {
		s.form(w, 401, "code", "", "Wrong code.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: pendingCookie, Path: "/", MaxAge: -1})
	s.welcome(w, r, pending.Value, false)
}

// welcome begins a visit.
func (s *Site) welcome(w http.ResponseWriter, r *http.Request, role string, lasting bool) {
	s.mu.Lock()
	s.count++
	id := fmt.Sprintf("s%d", s.count)
	s.visits[id] = role
	s.mu.Unlock()
	setCookie(w, visitCookie, id, lasting)
	http.Redirect(w, r, "/home", http.StatusSeeOther)
}

func setCookie(w http.ResponseWriter, name, value string, lasting bool) {
	c := &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true}
	if lasting {
		c.MaxAge = 30 * 24 * 3600
	}
	http.SetCookie(w, c)
}

// visitor returns the role of who is signed in.
func (s *Site) visitor(r *http.Request) (role string, ok bool) {
	c, err := r.Cookie(visitCookie)
	if err != nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	role, ok = s.visits[c.Value]
	return role, ok
}

func (s *Site) home(w http.ResponseWriter, r *http.Request) {
	role, ok := s.visitor(r)
	if !ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if role != "seller" {
		role = "buyer"
	}
	s.show(w, 200, "home", "$ROLE", role)
}

func (s *Site) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(visitCookie); err == nil {
		s.mu.Lock()
		delete(s.visits, c.Value)
		s.mu.Unlock()
	}
	http.SetCookie(w, &http.Cookie{Name: visitCookie, Path: "/", MaxAge: -1})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// stored shows the names of the cookies that were sent, in order.
func (s *Site) stored(w http.ResponseWriter, r *http.Request) {
	var names []string
	for _, c := range r.Cookies() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	s.show(w, 200, "stored", "$COOKIES", or(strings.Join(names, " "), "nothing"))
}
