package clients

// experiments shows what was tried besides the modes.
func (p *printer) experiments(r *Result) {
}
