package rank

// isStopword reports whether a lower-case word says nothing about what a text is
// about.
func isStopword(word []byte) bool {
	if len(word) > len("should") {
		return false
	}
	// A switch over constants needs no set-up at start and no allocation here.
	switch string(word) {
	case "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
		"for", "from", "had", "has", "have", "how", "if", "in", "into", "is", "it", "its", "of", "on", "or",
		"our", "should", "so", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
		"those", "to", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will",
		"with", "would", "you", "your":
		return true
	}
	return false
}

// fold makes an English plural singular, by the first rule that fits a word of n
// characters, in place. It knows no dictionary: "series" becomes "sery", and so it
// does in the query.
func fold(word []byte, n int) []byte {
	if word[len(word)-1] != 's' { // which also leaves what is digits only
		return word
	}
	end := len(word)
	switch {
	case n > 4 && hasSuffix(word, "ies"):
		word[end-3] = 'y'
		return word[:end-2]
	case n > 4 && hasSuffix(word, "sses"):
		return word[:end-2]
	case n > 3 && !hasSuffix(word, "ss") && !hasSuffix(word, "us") && !hasSuffix(word, "is"):
		return word[:end-1]
	}
	return word
}

func hasSuffix(word []byte, suffix string) bool {
	return len(word) >= len(suffix) && string(word[len(word)-len(suffix):]) == suffix
}
