package show

// whereTimeGoes shows the parts of a lone message's time.
func (p *page) whereTimeGoes() {}
