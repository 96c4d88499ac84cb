package wiki

import (
	"slices"
	"strings"

	"kxm/lib/item"
	"kxm/lib/redact"
)

func masked(s string) string {
	clean, _ := redact.Redact(s)
	return clean
}

// maskBatch is how many items a worker takes at once.
const maskBatch = 64

// maskItems takes the secrets out of what pages show of items. All cores scan.
func maskItems(items []item.Item) {
	parallel((len(items)+maskBatch-1)/maskBatch, func(n int) struct{} {
		for i := n * maskBatch; i < min((n+1)*maskBatch, len(items)); i++ {
			maskItem(&items[i])
		}
		return struct{}{}
	}, func(int, struct{}) {})
}

func maskItem(it *item.Item) {
	p := &it.Provenance
	for _, s := range []*string{&it.ID, &it.Summary, &it.StateKey, &it.MemoryKind, &p.SourceRef, &p.Author, &p.Signer} {
		*s = masked(*s)
	}
	if len(redact.FindPath(p.Path)) > 0 {
		p.Path = "" // a link that leaks, or leads nowhere
	}
	if it.Kind == item.KindState && !strings.ContainsAny(it.Summary, " \t\r\n") {
		// A key is a name for its value, and many secrets are known by their name alone.
		if found := redact.Find(it.StateKey + `="` + it.Summary + `"`); len(found) > 0 {
			it.Summary = "[redacted:" + found[0].Rule + "]"
		}
	}
	for _, list := range []*[]string{&it.EvidenceRefs, &p.DerivedFrom} {
		for i, s := range *list {
			if m := masked(s); m != s {
				*list = slices.Clone(*list)
				(*list)[i] = m
			}
		}
	}
}
