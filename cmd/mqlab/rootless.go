package main

import (
	"slices"

	"github.com/mqlab/mqlab/internal/link/emulate"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/trial"
)

// rootless lets a plan have backend tun for its links where it takes a user namespace: this program then runs again inside, and the
// error says with which exit code it has ended. Where even that is not possible the plan goes on: another backend may do, and the choice says why.
func rootless(p *plan.Plan) error {
	if !slices.ContainsFunc(p.Trials, wantsTun) {
		return nil
	}
	code, again, err := tun.Rootless()
	switch {
	case !again:
		return nil
	case err != nil:
		return err
	}
	return exitError{code, nil}
}

func wantsTun(t plan.Trial) bool {
	l := &t.Params.Link
	return l.Emulated() && slices.Contains([]string{"", emulate.Auto, emulate.Tun}, l.Backend) && !trial.Outside(&t.Subject)
}
