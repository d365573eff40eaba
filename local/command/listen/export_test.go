package listen

// Serve exposes the part of Run that has a listener.
var Serve = serve
