# compiler/ops.h first, then the files of tests/ops: names the ops that no test mentions.
NR == FNR {
    if (match($0, /^ *OP\( *[a-z_0-9]+/)) {
        name = substr($0, RSTART, RLENGTH)
        sub(/^ *OP\( */, "", name)
        if (name == "name") next # the column heads
        line[name] = FNR
        order[++n] = name
    }
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
    for (i = 1; i <= n; i++)
        if (!(order[i] in seen))
            printf "compiler/ops.h:%d: no test in tests/ops mentions '%s'\n", line[order[i]], order[i]
}
