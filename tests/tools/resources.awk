# resources.awk: the table of tests/golden/resources, and what changed in it.
# awk -f resources.awk GATE: of the output of nvcc_gate.sh a line for each kernel of the program:
#   FILE KERNEL block THREADS shared BYTES registers SM_80 SM_90
# awk -v compare=1 -f resources.awk GOLDEN FOUND: of the programs in both, what is not the same;
# registers differ by more than 2.

!compare && /^sm_80/ && $2 !~ /^nn_/ {
    file = $NF
    sub(/\.cu$/, "", file)
    line[++n] = file " " $2 " block " $4 " shared " $8 " registers " $6
    first[n] = $NF " " $2
}
!compare && /^sm_90/ { second[$NF " " $2] = $6 }
!compare { next }

/^#/ { next }
{ k = $1 " " $2 }
FNR == NR {
    golden[k] = $0
    next
}
{
    programs[$1] = 1
    found[k] = $0
    if (!(k in golden)) {
        print k ": a new kernel:" substr($0, length(k) + 1)
        next
    }
    split(golden[k], was)
    for (i = 3; i < NF; i += 2) {
        near = i >= 7 && (($(i + 1) - was[i + 1]) ^ 2 <= 4) && (($(i + 2) - was[i + 2]) ^ 2 <= 4)
        if ($i == "registers" && !near)
            print k ": registers " was[i + 1] " " was[i + 2] " -> " $(i + 1) " " $(i + 2)
        else if ($i != "registers" && $(i + 1) != was[i + 1])
            print k ": " $i " " was[i + 1] " -> " $(i + 1)
    }
}

END {
    for (i = 1; i <= n; i++) print line[i], second[first[i]]
    for (k in golden) {
        split(k, word, " ")
        if (word[1] in programs && !(k in found)) print k ": no such kernel any more"
    }
}
