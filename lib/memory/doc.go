// Package memory owns authored memory: the kxm.memory.v1 files in a .kxm folder,
// their candidates, the brief and the block that project them into instruction
// files, the findings of a check, the revision that names a state of them, and the
// rule by which only committed facts are dispatched.
//
// Start with [Load], which reads a folder into a [Set]; [Set.Items] turns it into
// context items, [Set.Facts] into what [Block] and [NewBrief] print. [PlanSync],
// [Check], [Revision] and [ReadCommitted] serve a command each, and [WriteNote],
// [Promote], [Deprecate] and [Supersede] are all that write records.
//
// Folders are given as file systems, so that a worktree, the index and a commit are
// read by the same code; the clock is given too. The package neither finds the .kxm
// folder nor reads configuration, skills or state, and it prints nothing.
package memory
