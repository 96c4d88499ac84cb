# Prints what fish offers for the last word of each line of standard input, one line
# each, every offer ended by \x1f. The first argument is sourced before.
source $argv[1]
while read --line line
    for offer in (complete -C $line)
        printf '%s\x1f' (string split \t -- $offer)[1]
    end
    printf '\n'
end
