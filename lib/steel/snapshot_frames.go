package steel

import "strings"

// framed is a frame on the way.
type framed struct {
	*Frame
	around string // address of the frame around it
	seen   []bool // by node: a malformed tree may lead to a node twice
	shield *shield
	owned  map[int64]int32    // frames in it, by the node that holds them
	loose  []int32            // frames in it whose place is not known
	labels map[int64][]string // names of the fields that a label is for, by its node
	inside bool               // it was entered
}

// newWalker puts each frame into its parent. Of two frames with one id the first
// counts; one whose parent is not there is put at the end of the main frame, which is
// the first.
func newWalker(frames []Frame) *walker {
	w := &walker{frames: make([]framed, len(frames))}
	byID := make(map[string]int32, len(frames))
	for i := range frames {
		f := &w.frames[i]
		f.Frame = &frames[i]
		if _, twice := byID[f.ID]; twice {
			f.inside = true
			continue
		}
		byID[f.ID] = int32(i)
		if f.Tree != nil {
			f.seen = make([]bool, len(f.Tree.nodes))
			f.shield = newShield(f.Tree, f.Password)
			f.readLabels()
		}
	}
	for i := 1; i < len(frames); i++ {
		f := &w.frames[i]
		parent, ok := byID[f.Parent]
		outer := &w.frames[parent] // the main frame if there is no such parent
		f.around = outer.URL
		if !ok || f.Owner <= 0 {
			outer.loose = append(outer.loose, int32(i))
			continue
		}
		if outer.owned == nil {
			outer.owned = map[int64]int32{}
		}
		if _, taken := outer.owned[f.Owner]; !taken {
			outer.owned[f.Owner] = int32(i)
		}
	}
	return w
}

// fewLabelled bounds how many fields of one label are looked at.
const fewLabelled = 8

func (f *framed) readLabels() {
	f.labels = map[int64][]string{}
	for _, l := range f.Tree.labels {
		if names := f.labels[l.label]; len(names) < fewLabelled {
			f.labels[l.label] = append(names, f.name(l.node))
		}
	}
}

// enter begins a frame. The main frame has no line of its own unless it did not answer.
func (w *walker) enter(s step) {
	f := &w.frames[s.frame]
	if f.inside {
		return
	}
	f.inside = true
	if s.frame != 0 || f.Tree == nil {
		l := line{kind: frameLine, frame: s.frame, node: -1, parent: s.parent, named: -1, noAnswer: f.Tree == nil, name: s.title, value: frameLocation(f.URL, f.around)}
		if l.name == "" {
			l.name = f.title()
		}
		s.parent = w.add(l)
	}
	for i := len(f.loose) - 1; i >= 0; i-- {
		w.stack = append(w.stack, step{frame: f.loose[i], node: -1, parent: s.parent})
	}
	if f.Tree != nil && len(f.Tree.nodes) > 0 {
		f.seen[0] = true
		w.push(s, 0)
	}
}

// title is the title of the frame's document.
func (f *framed) title() string {
	if f.Tree == nil || len(f.Tree.nodes) == 0 {
		return ""
	}
	return f.name(0)
}

// frameLocation says where a frame is, in one word: the path if the frame comes from
// where the one around it does, else the origin, and of addresses without a host no
// more than the scheme, since the rest is the content. Queries and fragments are left
// out.
func frameLocation(address, around string) string {
	origin, path, ok := splitAddress(address)
	if !ok {
		scheme, _, _ := strings.Cut(address, ":")
		if scheme != "about" {
			return oneWord(scheme + ":")
		}
		return oneWord(address[:untilQuery(address)])
	}
	if outer, _, ok := splitAddress(around); ok && strings.EqualFold(outer, origin) {
		return oneWord(path)
	}
	return oneWord(origin)
}

// splitAddress splits an address of the web into origin and path.
func splitAddress(address string) (origin, path string, ok bool) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return "", "", false
	}
	end := strings.IndexAny(rest, "/\\?#")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	host = host[strings.LastIndexByte(host, '@')+1:]
	path = rest[end:]
	if path = path[:untilQuery(path)]; path == "" {
		path = "/"
	}
	return scheme + "://" + host, path, host != ""
}

func untilQuery(address string) int {
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		return i
	}
	return len(address)
}

func oneWord(text string) string {
	if text = strings.ReplaceAll(PrintedName(text), " ", "%20"); text == "" {
		return ":"
	}
	return text
}
