package wiki

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel makes n values on all cores and hands them over one after the other, in no
// order.
func parallel[T any](n int, value func(i int) T, take func(i int, v T)) {
	var next atomic.Int64
	var mu sync.Mutex
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			v := value(i)
			mu.Lock()
			take(i, v)
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
