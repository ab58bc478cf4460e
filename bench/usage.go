package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: 1/100 s on every Linux.
const tick = 10 * time.Millisecond

// A stat is what /proc/<pid>/stat says of a process.
type stat struct {
	name   string
	parent int
	cpu    time.Duration // its own
	dead   time.Duration // of its children that have ended
}

func statOf(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// parseStat reads the line as proc(5) describes it. The name may hold spaces
// and brackets.
func parseStat(text []byte) (stat, error) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return stat{}, fmt.Errorf("unexpected stat of a process: %q", text)
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("unexpected stat of a process: %q", text)
	}
	number := func(i int) int { // the i-th field of proc(5), of which the third is the first here
		n, _ := strconv.Atoi(fields[i-3])
		return n
	}
	return stat{
		name: string(text[begin+1 : end]), parent: number(4),
		cpu: time.Duration(number(14)+number(15)) * tick, dead: time.Duration(number(16)+number(17)) * tick,
	}, nil
}

// cpuOf returns the CPU time that processes have used.
func cpuOf(pids ...int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		if s, err := statOf(pid); err == nil {
			sum += s.cpu
		}
	}
	return sum
}

// family returns the CPU time of a process and all its children, those that
// have ended included.
func family(pid int) time.Duration {
	s, err := statOf(pid)
	if err != nil {
		return 0
	}
	return s.cpu + s.dead + cpuOf(children(pid)...)
}

// children returns the processes that pid has started and that still run.
func children(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := statOf(n); err == nil && s.parent == pid {
			list = append(list, n)
		}
	}
	return list
}
