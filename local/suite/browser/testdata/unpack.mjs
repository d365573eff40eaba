// Unpacks the browser of the npm package. Scripts that begin together would otherwise run a file that one of them still writes.
if (!process.env.CHROMIUM) await (await import('@sparticuz/chromium')).default.executablePath();
