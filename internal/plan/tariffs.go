package plan

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/energy"
	"github.com/mqlab/mqlab/internal/scenario"
)

// tariffs reads those of the scenario.
func (r *resolver) tariffs(s *scenario.Scenario) (list []energy.Tariff) {
	for i, text := range s.Tariffs {
		t, err := energy.ParseTariff(text)
		if err != nil {
			r.problems.Add(s.At("tariffs"), fmt.Sprintf("tariffs[%d]", i), "%v", err)
			continue
		}
		list = append(list, t)
	}
	return list
}
