package repo
import ("testing";"crypto";"crypto/sha1";"github.com/go-git/go-git/v5/plumbing/hash")
func BenchmarkHB(b *testing.B){
 for _,n:=range []int{430,100000}{ d:=make([]byte,n); for i:=range d {d[i]=byte(i*7)}
 b.Run("std",func(b *testing.B){b.SetBytes(int64(n));for b.Loop(){h:=sha1.New();h.Write(d);h.Sum(nil)}})
 b.Run("cd",func(b *testing.B){b.SetBytes(int64(n));for b.Loop(){h:=hash.New(crypto.SHA1);h.Write(d);h.Sum(nil)}})
 }}
