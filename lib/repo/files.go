package repo

import (
	"context"

	"kxm/lib/fault"
)

// filesBackend reads the repository's files. What it cannot answer itself (a
// revision with a date, a split index) it hands to git.
type filesBackend struct {
	r       *Repo
	objects *store
}

func newFilesBackend(r *Repo, base string) *filesBackend {
	return &filesBackend{r: r, objects: newStore(r.objectsDir, base, r.getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES"))}
}

func (b *filesBackend) object(ctx context.Context, id OID, limit int64) (string, []byte, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	typ, data, err := b.objects.read(id, limit, 0)
	if fault.Is(err, fault.ObjectMissing) && b.objects.mayHaveMore() {
		return b.r.native.object(ctx, id, limit)
	}
	return typ, data, err
}

func (b *filesBackend) header(ctx context.Context, id OID) (string, int64, error) {
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	typ, size, err := b.objects.header(id, 0)
	if fault.Is(err, fault.ObjectMissing) && b.objects.mayHaveMore() {
		return b.r.native.header(ctx, id)
	}
	return typ, size, err
}
