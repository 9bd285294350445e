import type { CallEvent, CallResult, ResultCodes } from '../../model/call-event.ts';
import { parseCallId } from '../../model/ids.ts';
import type { Address } from './addresses.ts';
import { meaningOfEnd } from './result-meaning.ts';

/** The parameters of a callback. */
export type Form = Readonly<Record<string, string>>;

/** Reported by `CallStatus` when a call is over. */
const FAILED: ReadonlySet<string> = new Set(['busy', 'no-answer', 'failed', 'canceled']);

// A row stores integers of 32 bits. Real codes are far smaller.
const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

/**
 * A callback → the event that it reports; undefined where it has no well-formed call id, `other` where it reports nothing that is used here.
 *
 * Twilio asks for instructions when somebody has answered, when a key was pressed, and when what was to be said is over; and it tells the status of the
 * call, in any order and perhaps twice.
 */
export const readCallEvent = (form: Form, address: Address): CallEvent | 'other' | undefined => {
  const callId = parseCallId(form['CallSid']);
  if (callId === undefined || !/^CA[0-9A-Fa-f]{32}$/.test(callId)) return undefined;
  const { attempt, occasion, speech, step } = address;
  const about = { callId, attempt, result: {} };
  const status = form['CallStatus'] ?? '';
  if (occasion === 'status' || form['CallbackSource'] === 'call-progress-events') {
    const codes = { code: wholeNumber(form['SipResponseCode']), subCode: wholeNumber(form['ErrorCode']) };
    if (status === 'completed') {
      const seconds = wholeNumber(form['CallDuration']);
      const connectedMs = seconds === undefined ? undefined : seconds * 1_000;
      return { ...about, kind: 'disconnected', result: withoutOk(codes), connectedMs };
    }
    if (FAILED.has(status)) return { ...about, kind: 'create failed', result: endOf(status, codes) };
    return status === 'initiated' || status === 'ringing' ? { ...about, kind: 'ringing' } : 'other';
  }
  const awaiting = { ...about, isAwaiting: true };
  const key = form['Digits'] ?? '';
  // Only the first key counts: more cannot have been asked for.
  if (key !== '') return { ...awaiting, kind: 'tone received', key: { key: key.slice(0, 1), sequence: step } };
  if (occasion === 'end') return { ...awaiting, kind: 'play completed', speech };
  return { ...awaiting, kind: 'connected', isMachine: /^(machine|fax)/.test(form['AnsweredBy'] ?? '') };
};

const endOf = (status: string, codes: ResultCodes): CallResult => ({
  ...codes,
  reason: status,
  ...meaningOfEnd(status, codes),
});

/** 200 is the network's word for a call that was established. */
const withoutOk = ({ code, subCode }: ResultCodes): CallResult => ({ code: code === 200 ? undefined : code, subCode });
