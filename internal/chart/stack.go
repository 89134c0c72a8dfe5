package chart

import "math"

// Pile is one bar of a Stack.
type Pile struct {
	Name  string
	Parts []float64 // in the order of Stack.Parts; no number: that part is not known, and is left out
	Text  string    // the whole for people; or why there is nothing
}

// Stack is a chart of bars that are made of parts.
type Stack struct {
	Labels
	X     Axis
	Parts []string // their names
	Piles []Pile   // in the order to be shown
}

// SVG draws the chart: the parts of a bar one after the other, in their order, each with its own hatching, so that they can be told apart
// without colour. A part that is not known takes no room.
func (s *Stack) SVG() string {
	high := 0.0
	for _, p := range s.Piles {
		high = math.Max(high, p.height())
	}
	if high == 0 {
		return ""
	}
	const pitch, thick = 42.0, 14.0
	c := new(canvas)
	f := &frame{c: c, x: edge + 6, y: edge, w: Width - 2*edge - 32, h: float64(len(s.Piles))*pitch + 2}
	var ticks []float64
	f.xs, ticks = s.X.Ticks.even(0, high, 4)
	var at []tick
	for i, words := range s.X.Ticks.words(ticks) {
		at = append(at, tick{ticks[i], words})
	}
	end := f.horizontal(s.X.Name, at)
	for i, p := range s.Piles {
		y := f.y + float64(i)*pitch
		text := shorten(p.Text, f.w/2)
		c.raw(`<g data-name="%s" data-t="%s">`, escape(p.Name), escape(p.Text))
		c.text(f.x, y+em, "start", "own", shorten(p.Name, Width-2*edge-textWidth(text)-14))
		c.text(Width-edge, y+em, "end", "", text)
		s.pile(f, &p, y+em+6, thick)
		c.raw(`</g>`)
	}
	return c.finish(s.Labels, "stack", c.partKey(end, s.Parts)+edge)
}

// height is the sum of the parts that are known.
func (p *Pile) height() (sum float64) {
	for _, v := range p.Parts {
		if finite(v) && v > 0 {
			sum += v
		}
	}
	return sum
}

func (s *Stack) pile(f *frame, p *Pile, y, thick float64) {
	from := 0.0
	for k, v := range p.Parts {
		if k >= len(s.Parts) || !finite(v) || v <= 0 {
			continue
		}
		x, to := f.px(from), f.px(from+v)
		say := s.Parts[k] + ": " + s.X.write(v)
		f.c.raw(`<g class="s s%d" data-name="%s" data-t="%s"><title>%s</title>`, k%styles, escape(s.Parts[k]), escape(s.X.write(v)), escape(say))
		f.c.part(k, x, y, to-x, thick)
		f.c.raw(`</g>`)
		from += v
	}
}

// part draws a piece of a bar with the hatching of its kind: none, upright, two ways of slanting lines, lines along.
func (c *canvas) part(kind int, x, y, w, h float64) {
	c.rect(x, y, w, h, "part")
	const step = 5.0
	switch kind % 5 {
	case 1:
		for at := x + step/2; at < x+w-0.5; at += step {
			c.line(at, y, at, y+h, "hatch")
		}
	case 2:
		for at := x; at+h < x+w; at += step {
			c.line(at, y+h, at+h, y, "hatch")
		}
	case 3:
		for at := x; at+h < x+w; at += step {
			c.line(at, y, at+h, y+h, "hatch")
		}
	case 4:
		for at := y + step/2; at < y+h; at += step {
			c.line(x, at, x+w, at, "hatch")
		}
	}
}

// partKey names the parts, and returns where it ends.
func (c *canvas) partKey(y float64, names []string) float64 {
	return c.names(y, names, func(i int, x, y, _ float64, _, _ string) {
		c.raw(`<g class="s s%d">`, i%styles)
		c.part(i, x, y-0.8*em, 24, em)
	})
}
