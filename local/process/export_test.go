package process

// Limit exposes the listener that Run serves on.
var Limit = limit
