package main

import (
	"testing"

	"kxm/lib/kxmtest"
)

func TestMain(m *testing.M) {
	kxmtest.Main(m, map[string]func(){"kxm-pack": main})
}

func TestScripts(t *testing.T) {
	kxmtest.RunScripts(t, "testdata/script")
}
