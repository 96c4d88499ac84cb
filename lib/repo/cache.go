package repo

import "sync"

// baseCache keeps recently used bases of deltas: neighbouring files and trees of
// one history are usually chained to the same ones. The oldest goes first.
type baseCache struct {
	mu    sync.Mutex
	items map[baseKey]baseItem
	order []baseKey
	size  int
}

type baseKey struct {
	p  *pack
	at int64
}

type baseItem struct {
	typ  string
	data []byte
}

// Sizes of the cache, and of the largest base that may push others out of it.
const (
	baseCacheSize = 8 << 20
	baseCacheItem = 1 << 20
)

func (c *baseCache) get(p *pack, at int64) (string, []byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, ok := c.items[baseKey{p, at}]
	return item.typ, item.data, ok
}

func (c *baseCache) put(p *pack, at int64, typ string, data []byte) {
	if len(data) > baseCacheItem {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := baseKey{p, at}
	if _, ok := c.items[key]; ok {
		return
	}
	if c.items == nil {
		c.items = map[baseKey]baseItem{}
	}
	c.items[key] = baseItem{typ, data}
	c.order = append(c.order, key)
	c.size += len(data)
	for c.size > baseCacheSize {
		c.size -= len(c.items[c.order[0]].data)
		delete(c.items, c.order[0])
		c.order = c.order[1:]
	}
}
