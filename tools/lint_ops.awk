# compiler/ops.h first, then grammar/README.md and the files of tests/ops: names the ops that no test
# mentions, and those called by name (FN) that section 10 of the reference leaves out.
NR == FNR {
    if (match($0, /^ *OP\( *[a-z_0-9]+/)) {
        name = substr($0, RSTART, RLENGTH)
        sub(/^ *OP\( */, "", name)
        if (name == "name") next # the column heads
        line[name] = FNR
        order[++n] = name
        called[name] = $0 ~ /[^A-Z]FN[^A-Z]/
    }
    next
}
FILENAME == "grammar/README.md" {
    if (/^## /) builtins = /^## 10\./
    if (!builtins) next
    gsub(/[^A-Za-z0-9_]+/, " ")
    k = split($0, words, " ")
    for (i = 1; i <= k; i++) described[words[i]] = 1
    next
}
{
    gsub(/[^A-Za-z0-9_]+/, " ")
    k = split($0, words, " ")
    for (i = 1; i <= k; i++) {
        sub(/^(OP|graph)_/, "", words[i]) # OP_eq and graph_iota mention eq and iota
        seen[words[i]] = 1
    }
}
END {
    for (i = 1; i <= n; i++) {
        if (!(order[i] in seen))
            printf "compiler/ops.h:%d: no test in tests/ops mentions '%s'\n", line[order[i]], order[i]
        if (called[order[i]] && !(order[i] in described))
            printf "compiler/ops.h:%d: section 10 of grammar/README.md leaves out '%s'\n",
                line[order[i]], order[i]
    }
}
