package listen

// Serve is what Run does with its listener.
var Serve = serve
