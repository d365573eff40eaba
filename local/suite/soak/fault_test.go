package soak_test

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// fault is one kind of failure of one part.
type fault struct {
	part, kind string
	alone      bool // the part serves every company, so no other fault may run meanwhile
	// run makes the part fail for a while, and returns when it works again.
	run func(w *world, l *workload)
}

// toxic returns a fault in which toxiproxy breaks the connections of a link.
func toxic(kind string, of func(*world, *workload) *link, toxic, attributes string) fault {
	return fault{kind: kind, run: func(w *world, l *workload) {
		of(w, l).toxic(toxic, attributes)
		<-time.After(*forFlag)
		of(w, l).heal()
	}}
}

// answered returns a fault in which another answer replaces each answer of a server.
func answered(kind string, of func(*world, *workload) *link, status int, body string) fault {
	return fault{kind: kind, run: func(w *world, l *workload) {
		of(w, l).answer(&refusal{status, body})
		<-time.After(*forFlag)
		of(w, l).heal()
	}}
}

// onLink returns the faults that every link may have, and two answers: that the server is busy, and that it has failed.
func onLink(part string, alone bool, of func(*world, *workload) *link, busy, failed refusal) []fault {
	faults := []fault{
		toxic("latency", of, "latency", `{"latency": 1000, "jitter": 500}`),
		toxic("reset", of, "reset_peer", `{"timeout": 0}`),
		toxic("cut", of, "limit_data", `{"bytes": 100}`),
		toxic("half-open", of, "timeout", `{"timeout": 0}`),
		toxic("timeout", of, "timeout", `{"timeout": 2000}`),
		answered("throttle", of, busy.status, busy.body),
		answered("500", of, failed.status, failed.body),
	}
	for i := range faults {
		faults[i].part, faults[i].alone = part, alone
	}
	return faults
}

// onAWS lists the faults of the process on AWS's services. The bodies are those of the services.
func onAWS() []fault {
	all := onLink("table", true, func(w *world, _ *workload) *link { return w.table },
		refusal{400, `{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "Throttled."}`},
		refusal{500, `{"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "Failed."}`})
	all = append(all, onLink("queue", true, func(w *world, _ *workload) *link { return w.queue },
		refusal{400, `{"__type": "com.amazonaws.sqs#RequestThrottled", "message": "Throttled."}`},
		refusal{500, `{"__type": "com.amazonaws.sqs#InternalError", "message": "Failed."}`})...)
	return append(all, onTenants()...)
}

// onTenants lists the faults of tenants' servers: the endpoints and the feed of one company.
func onTenants() []fault {
	busy, failed := refusal{http.StatusTooManyRequests, ""}, refusal{http.StatusInternalServerError, ""}
	all := onLink("receiver", false, func(_ *world, l *workload) *link { return l.receivers }, busy, failed)
	return append(all, onLink("source", false, func(_ *world, l *workload) *link { return l.source }, busy, failed)...)
}

// onSQLite lists the faults of the process on SQLite.
func onSQLite() []fault {
	return append(onDisk(), fault{"process", "kill", true, func(w *world, _ *workload) {
		random := rand.New(rand.NewPCG(*seedFlag, 0))
		for range *killsFlag {
			<-time.After(20*time.Millisecond + time.Duration(random.Int64N(int64(300*time.Millisecond))))
			w.program.kill()
		}
	}})
}

// selected returns the faults that the flags name.
func selected(all []fault) []fault {
	short := map[string]bool{
		"table reset": true, "table throttle": true, "queue half-open": true, "receiver cut": true, "source 500": true,
		"disk full": true, "process kill": true,
	}
	var some []fault
	for _, f := range all {
		name := f.part + " " + f.kind
		chosen := *faultFlag == name || *faultFlag == f.part || *faultFlag == f.kind
		if *faultFlag == "" {
			chosen = *allFlag || short[name]
		}
		if chosen {
			some = append(some, f)
		}
	}
	return some
}
