package diff

// A node is what was found in a pair of components, and the pairs it leads to.
// What is found there does not depend on the operation that shows it, so each
// pair is compared once.
type node struct {
	findings []finding
	children []*node
}

// note records a change in the pair of components or the operation that is
// compared.
func (w *walk) note(id, subject, before, after string) {
	f := finding{id, subject, before, after}
	if w.current != nil {
		w.current.findings = append(w.current.findings, f)
		return
	}
	w.ledger.add(f, w.where)
}

// once runs compare for the first pair of a key, and counts what it found for
// every operation.
func (w *walk) once(key string, compare func()) {
	n := w.nodes[key]
	if n == nil {
		if len(w.nodes) == 0 {
			w.nodes = make(map[string]*node)
		}
		n = new(node)
		w.nodes[key] = n
		outer, active := w.current, w.active
		w.current, w.active = n, make(map[string]bool)
		if w.chain++; w.chain > maxChain {
			w.steps = maxSteps
		}
		compare()
		w.chain--
		w.current, w.active = outer, active
	}
	if w.current != nil {
		w.current.children = append(w.current.children, n)
		return
	}
	w.tell(n)
}

// tell records what a node and those below it found, for the operation that is
// compared.
func (w *walk) tell(from *node) {
	told := map[*node]bool{from: true}
	for open := []*node{from}; len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, f := range n.findings {
			w.ledger.add(f, w.where)
		}
		for _, child := range n.children {
			if !told[child] {
				told[child] = true
				open = append(open, child)
			}
		}
	}
}
