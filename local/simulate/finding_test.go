package simulate_test

// findings lists the faults of the service that the simulation has found and that are not fixed yet.
func findings() []finding {
	return []finding{
		{outage, "rest", 2, 2, "the mappings drop batches when the store is away for longer than their attempts last"},
	}
}
