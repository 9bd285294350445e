// The check of signatures: the one part of Twilio's package that is used. It is imported with the first callback, and does not delay the start of the
// app. The package's client would take longer to load than the whole app.
export { validateRequest } from 'twilio/lib/webhooks/webhooks.js';
