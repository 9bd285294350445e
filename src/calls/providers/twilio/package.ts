// Of Twilio's package only the check of signatures, imported when a first callback needs it: an app that calls through another provider does not
// wait for it at its start. The package's client is not used at all: it would take longer to load than the whole app.
export { validateRequest } from 'twilio/lib/webhooks/webhooks.js';
