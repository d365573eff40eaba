package main

// mailTime is for how long a mail and what precedes it keep the notifier busy, in seconds: two calls of a Lambda, of which one waits for SES.
const mailTime = 0.25

// notices lists what a thousand mails cost that tell a thousand people of a matter each: the matter is told by one job, the mail sent by
// another, and a job is sent, received and deleted.
func notices(s stack, p prices) []line {
	const mails = 1_000
	told, mailed := costOf("notifier: a matter, for one person"), costOf("notifier: a mail")
	return []line{
		{"SES", "mails", mails, p.mail},
		{"DynamoDB", "read units", mails * (told.read + mailed.read), p.read},
		{"DynamoDB", "write units", mails * (told.written + mailed.written), p.written},
		{"SQS", "requests", mails * 2 * 3, p.queue},
		{"Lambda", "invocations", mails * 2, p.lambda},
		{"Lambda", "GB-seconds", mails * mailTime * s.memory["notifier"] / 1024, p.compute},
	}
}
