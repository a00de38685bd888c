# Any text of ours: line length (in characters), file length, tabs, trailing blanks, loose ends.
function say(what) { printf "%s:%d: %s\n", FILENAME, FNR, what }

FNR == 1 { if (last > 800) printf "%s:1: file of %d lines, 800 at most\n", file, last }
{
    file = FILENAME
    last = FNR
    if (/\t/) say("tab")
    if (/[ \t\r]$/) say("trailing blank")
    if (/TO[D]O|FIX[M]E|XX[X]/) say("unfinished: mend it or file an issue")
    gsub(/[\200-\277]/, "") # continuation bytes of UTF-8
    # a row of the op table may be longer: it is read as a table
    if (length($0) > 100 && !/^ *OP\( *[a-z]/) say("line of " length($0) " characters, 100 at most")
}
END { if (last > 800) printf "%s:1: file of %d lines, 800 at most\n", file, last }
