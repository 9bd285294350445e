import twilio from 'twilio';
import { expect, it } from 'vitest';

import { ALERT_TYPES, alertTypeOf } from '../../../../src/calls/model/alert-types.ts';
import { messageTwiml, twimlOf } from '../../../../src/calls/providers/twilio/twiml.ts';
import { MAX_DETAILS_CHARACTERS, announcement } from '../../../../src/calls/rules/message.ts';
import { attempt } from '../stage.ts';

const VOICE = 'Polly.Joanna';
const HOSTILE = `<Say>"Fire" & 'smoke'</Say>\u0007 \uD800 🔥 `;
const ADDRESS = 'https://watch.example/api/Callback?attempt=a/1/b&on=key#ct=2000&rt=5000';

it("is what Twilio's own package writes", () => {
  const expected = new twilio.twiml.VoiceResponse();
  expected
    .gather({ input: ['dtmf'], numDigits: 1, finishOnKey: '', timeout: 8, method: 'POST', action: ADDRESS })
    .say({ voice: VOICE, language: 'en-US', loop: 3 }, HOSTILE.replace('\u0007', ' ').replace('\uD800', '\uFFFD'));
  expected.redirect({ method: 'POST' }, ADDRESS);
  expect(twimlOf({ say: HOSTILE, times: 3, keys: ADDRESS, end: ADDRESS }, VOICE)).toBe(expected.toString());

  const last = new twilio.twiml.VoiceResponse();
  last.say({ voice: VOICE, language: 'en-US' }, 'Goodbye.');
  last.hangup();
  expect(twimlOf({ say: 'Goodbye.' }, VOICE)).toBe(last.toString());
});

/** Twilio rejects longer instructions in a call request (error 32018). */
const MAX_TWIML_CHARACTERS = 4_000;

it('fits into a call request with the longest name, details and voice, all of it escaped, and not with any address', () => {
  const [name, details] = ['&'.repeat(200), '&'.repeat(MAX_DETAILS_CHARACTERS)];
  const menu = 'Press 1 to confirm, 2 to hear it again, 3 if you cannot go. ';
  const unit = announcement(name, alertTypeOf('PointOfInterest'), { details }) + menu;
  const longest = { ...attempt, index: 49 };
  const lengthAt = (base: string): number =>
    Math.max(
      ...ALERT_TYPES.map(({ callbackPath }) => {
        const path = `${base}/api/${callbackPath}`;
        return messageTwiml({ unit, hasKeys: true }, path, { attempt: longest }, 'x'.repeat(60)).length;
      }),
    );
  expect(lengthAt(`https://${'a'.repeat(500)}.example`)).toBeLessThanOrEqual(MAX_TWIML_CHARACTERS);
  expect(lengthAt(`https://${'a'.repeat(900)}.example`)).toBeGreaterThan(MAX_TWIML_CHARACTERS);
});
