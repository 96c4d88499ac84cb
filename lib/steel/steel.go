// Package steel owns browser sessions on a Steel server: how the server is found and
// asked, what is remembered about a session on disk, and how sessions start, are
// released and swept up.
//
// Start with [Load], which gives the [Settings], and [Service], whose methods are the
// verbs. The open-source server has one browser, releases whatever is current whatever
// id it is told, and answers for ids that never were; every rule here about looking
// before acting comes from that. The package is given its clock, its environment, its
// HTTP client and its randomness, and never drives a page.
package steel
