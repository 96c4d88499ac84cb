package steel

import (
	"testing"

	"kxm/lib/fault"
)

func TestAims(t *testing.T) {
	for text, want := range map[string]Aim{
		"e12":                {byReference, "e12", "e12"},
		"@e12":               {byReference, "e12", "e12"},
		"css=a > b":          {bySelector, "a > b", "css=a > b"},
		"css=[a='=']":        {bySelector, "[a='=']", "css=[a='=']"},
		"text= Sign\n in ":   {byText, "Sign in", "text= Sign\n in "},
		"text=a=b":           {byText, "a=b", "text=a=b"},
		"label=E\u00a0mail":  {byLabel, "E mail", "label=E\u00a0mail"},
		"testid= with space": {byTestID, " with space", "testid= with space"},
	} {
		if got, err := ParseAim(text); err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "e", "e0", "e01", "E5", "@@e5", "e5 ", "e9999999999", "h1", "css", "css=", "css= ", "text=", "label=\t", "testid=", "CSS=a", "xpath=//a", "ref=e5", "=a", "button",
	} {
		if got, err := ParseAim(text); !fault.Is(err, fault.SteelUsage) {
			t.Errorf("%q is %+v (%v)", text, got, err)
		}
	}
}

func FuzzParseAim(f *testing.F) {
	for _, text := range []string{"e5", "@e7", "css=a", "text= a  b ", "label=\u00a0x", "testid=\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAim(text)
		if err != nil {
			return
		}
		if again, err := ParseAim(a.String()); err != nil || again != a {
			t.Errorf("%q is %+v, and that %+v (%v)", text, a, again, err)
		}
	})
}
