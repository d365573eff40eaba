package web

import "net/http"

// response records the status, and drops the body of an answer to HEAD. It counts a large answer to a company until the client has
// read it, because a slow reader holds it for as long as the connection lasts.
type response struct {
	http.ResponseWriter
	req    *request
	r      *http.Request
	head   bool
	status int
	held   bool // the header waits for the body: a large answer may have to be refused
}

// largeAnswer is the size beyond which an answer counts as memory in flight.
const largeAnswer = 64 << 10

func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if status >= http.StatusOK {
		w.status = status
	}
	if w.held = status == http.StatusOK && w.r.Method == http.MethodGet; w.held {
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.head {
		return len(b), nil
	}
	if w.held && len(b) > largeAnswer && w.req.caller.Company != "" && w.req.reserved == nil {
		if err := Reserve(w.r.Context(), len(b)); err != nil {
			w.replace(err)
			return len(b), nil
		}
	}
	w.release()
	return w.ResponseWriter.Write(b)
}

// release sends the header that waits.
func (w *response) release() {
	if w.held {
		w.held = false
		w.ResponseWriter.WriteHeader(w.status)
	}
}

// replace answers with a problem in place of what was about to be sent.
func (w *response) replace(err error) {
	for _, name := range []string{"ETag", "Link", "Last-Modified", "Content-Length"} {
		w.Header().Del(name)
	}
	w.held, w.status = false, 0
	w.req.server.refuse(w, w.r, err)
	w.head = true // the rest of the answer is dropped
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
