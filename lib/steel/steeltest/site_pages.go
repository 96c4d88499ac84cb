package steeltest

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"strings"
)

func (s *Site) slow(w http.ResponseWriter, r *http.Request) {
	if s.pause(r) {
		notice(w, 200, "Slow")
	}
}

func (s *Site) slowBody(w http.ResponseWriter, r *http.Request) {
	notice(w, 200, "Slow body")
	flush(w)
	if s.pause(r) {
		fmt.Fprint(w, "<p>The rest</p>\n")
	}
}

func (s *Site) slowPicture(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("picture") {
		if s.pause(r) {
			w.Header().Set("Content-Type", "image/jpeg")
			w.Write(jpegPicture())
		}
		return
	}
	notice(w, 200, "Slow picture")
	fmt.Fprintf(w, "<img alt=\"slow\" src=\"/slow-picture?picture=1&amp;ms=%d\">\n", number(r, "ms", 5000))
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func (s *Site) status(w http.ResponseWriter, r *http.Request) {
	status := atoi(r.PathValue("status"))
	if status < 200 || status > 599 {
		status = 404
	}
	notice(w, status, fmt.Sprintf("Status %d", status))
}

// redirect leads n times to itself, and then elsewhere; without an n in the path of a
// loop it never does.
func redirect(w http.ResponseWriter, r *http.Request) {
	to := or(r.URL.Query().Get("to"), "/about")
	if n := number(r, "n", 1); r.URL.Path == "/loop" {
		to = "/loop"
	} else if n > 1 {
		q := r.URL.Query()
		q.Set("n", fmt.Sprint(n-1))
		to = r.URL.Path + "?" + q.Encode()
	}
	http.Redirect(w, r, to, http.StatusFound)
}

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// many writes a page of a heading and of n parts.
func many(w http.ResponseWriter, title, before, after string, n int, part func(w *bufio.Writer, i int)) {
	notice(w, 200, title)
	b := bufio.NewWriter(w)
	b.WriteString(before)
	for i := range n {
		part(b, i+1)
	}
	b.WriteString(after)
	_ = b.Flush() // a browser that has gone is no failure
}

func table(w http.ResponseWriter, r *http.Request) {
	const head = "<table><thead><tr><th>Number<th>Name<th>Price<th>Action</thead><tbody>\n"
	const foot = "</tbody></table>\n<output id=\"out\">nothing</output>\n" +
		"<script>document.addEventListener('click', e => { if (e.target.tagName == 'BUTTON') out.textContent = e.target.textContent; })</script>\n"
	many(w, "Table", head, foot, number(r, "rows", 500), func(b *bufio.Writer, i int) {
		fmt.Fprintf(b, "<tr><td>%d<td><a href=\"/about?row=%d\">Item %d</a><td>%d.50<td><button>Delete %d</button>\n", i, i, i, i*3, i)
	})
}

func nodes(w http.ResponseWriter, r *http.Request) {
	many(w, "Nodes", "<div>", "</div>", number(r, "n", 100_000), func(b *bufio.Writer, i int) {
		if i%10 == 0 {
			fmt.Fprintf(b, "<button>Node %d</button>\n", i)
			return
		}
		fmt.Fprintf(b, "<p>Node %d</p>\n", i)
	})
}

func text(w http.ResponseWriter, r *http.Request) {
	const line = "All work and no play makes Jack a dull boy, and é is two.\n"
	many(w, "Text", "<p id=\"long\">", "</p>", number(r, "bytes", 1_000_000)/len(line), func(b *bufio.Writer, _ int) {
		b.WriteString(line)
	})
}

// report is a file for whoever is signed in.
func (s *Site) report(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.visitor(r); !ok && !r.URL.Query().Has("open") {
		notice(w, 403, "Not for you")
		return
	}
	attachment(w, "text/csv", "report.csv")
	fmt.Fprint(w, "a,b\n1,2\n")
}

func attachment(w http.ResponseWriter, mime, name string) {
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// endless writes until somebody gives up.
func (s *Site) endless(w http.ResponseWriter, r *http.Request) {
	attachment(w, "application/octet-stream", "endless.bin")
	chunk := []byte(strings.Repeat("endless ", 8<<10))
	for {
		select {
		case <-s.done:
			panic(http.ErrAbortHandler) // returning would end the file
		case <-r.Context().Done():
			return
		default:
		}
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// upload shows what it was sent, in the words of the page that sent it.
func (s *Site) upload(w http.ResponseWriter, r *http.Request) {
	var lines []string
	for _, f := range readFiles(r) {
		lines = append(lines, fmt.Sprintf("%s %d %s", f.Name, f.Bytes, f.SHA256))
	}
	notice(w, 200, "Received")
	fmt.Fprintf(w, "<pre id=\"out\">%s</pre>\n", html.EscapeString(strings.Join(lines, "\n")))
}
