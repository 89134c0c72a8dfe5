package clients

import (
	"context"
	"fmt"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/guard"
)

// experiments carries out what is asked for beside the modes. When ctx is done its cause is the error.
func (o *Options) experiments(ctx context.Context, g *guard.Guard, r *Result, built []*agent.Built) error {
	if len(o.Connections) > 0 {
		o.scales(ctx, g, r, built)
	}
	if o.Leak > 0 && ctx.Err() == nil {
		o.Say(fmt.Sprintf("memory of %d clients for %v", len(built), o.Leak))
		o.leaks(ctx, g, r, built)
	}
	if len(o.Reconnect) > 0 && ctx.Err() == nil {
		o.Say("connections are cut")
		o.reconnects(ctx, g, r, built)
	}
	if o.Block > 0 && ctx.Err() == nil {
		o.Say(fmt.Sprintf("callbacks block for %v", o.Block))
		o.keepAlives(ctx, g, r, built)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Invalid are the results that are none, each with its client and why, and how many results there are in all.
func (r *Result) Invalid() (list []string, all int) {
	add := func(client, why string) {
		if all++; why != "" {
			list = append(list, client+": "+why)
		}
	}
	for i := range r.Cells {
		add(r.Cells[i].Client, r.Cells[i].Invalid)
	}
	for i := range r.Scaled {
		add(r.Scaled[i].Client, r.Scaled[i].Invalid)
	}
	for i := range r.Leaks {
		add(r.Leaks[i].Client, r.Leaks[i].Invalid)
	}
	for i := range r.Reconnects {
		add(r.Reconnects[i].Client, r.Reconnects[i].Invalid)
	}
	for i := range r.KeepAlives {
		add(r.KeepAlives[i].Client, r.KeepAlives[i].Invalid)
	}
	return list, all
}
