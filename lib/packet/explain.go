package packet

import (
	"slices"

	"kxm/lib/item"
)

// Explanation says where an item comes from.
type Explanation struct {
	Found        bool     `json:"found"`
	Lineage      []string `json:"lineage"`
	EvidenceRefs []string `json:"evidenceRefs"`
	Sources      []Source `json:"sources"`
}

// Source is where one item of the lineage, or the item itself, was made.
type Source struct {
	ID         string      `json:"id"`
	SourceType item.Origin `json:"sourceType"`
	SourceRef  string      `json:"sourceRef,omitempty"`
}

// Explain follows an item's derivation through the pool, breadth first, each
// ancestor once. Lineage is sorted by bytes and names ids that the pool does not
// hold too; sources are those of the item and of the ancestors that it holds.
func Explain(pool item.Pool, project, id string, mask func(string) string) (Explanation, error) {
	if err := pool.Isolated(project); err != nil {
		return Explanation{}, err
	}
	byID := make(map[string]*item.Item, len(pool.Items))
	for i := range pool.Items {
		byID[pool.Items[i].ID] = &pool.Items[i]
	}
	e := Explanation{Lineage: []string{}, EvidenceRefs: []string{}, Sources: []Source{}}
	root, ok := byID[id]
	if !ok {
		return e, nil
	}
	e.Found = true
	seen := map[string]bool{id: true}
	queue := []*item.Item{root}
	var ancestors []string
	for len(queue) > 0 {
		it := queue[0]
		queue = queue[1:]
		for _, parent := range it.Provenance.DerivedFrom {
			if seen[parent] {
				continue
			}
			seen[parent] = true
			ancestors = append(ancestors, parent)
			if p, ok := byID[parent]; ok {
				queue = append(queue, p)
			}
		}
	}
	slices.Sort(ancestors)
	source := func(it *item.Item) {
		e.Sources = append(e.Sources, Source{mask(it.ID), it.Provenance.SourceType, mask(it.Provenance.SourceRef)})
	}
	source(root)
	for _, a := range ancestors {
		e.Lineage = append(e.Lineage, mask(a))
		if it, ok := byID[a]; ok {
			source(it)
		}
	}
	for _, r := range root.EvidenceRefs {
		e.EvidenceRefs = append(e.EvidenceRefs, mask(r))
	}
	return e, nil
}
