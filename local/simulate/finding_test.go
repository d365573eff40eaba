package simulate_test

// findings lists the faults of the service that the simulation has found and that are not fixed yet.
func findings() []finding {
	return []finding{
		{itemOrder, "context", 1, 1, "the projector skips changes whose numbers are below the last one that it has folded"},
	}
}
