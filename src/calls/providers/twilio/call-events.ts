import { parseCallId } from '../../model/ids.ts';
import type { CallEvent } from '../../model/phone-provider.ts';
import type { Address } from './addresses.ts';
import { resultOfEnd } from './codes.ts';

/** The parameters of a callback. */
export type Form = Readonly<Record<string, string>>;

/** Whether a callback only reports the status of a call, of this service or another system. */
export const isStatus = (form: Form, { occasion }: Address): boolean =>
  occasion === 'status' || form['CallbackSource'] === 'call-progress-events';

// A row stores integers of 32 bits. Real codes are far smaller.
const integerIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

/** A callback → the event that it reports; undefined if it has no well-formed call id, `other` if it reports nothing that is used here. */
export const callEvent = (form: Form, address: Address): CallEvent | 'other' | undefined => {
  const callId = parseCallId(form['CallSid']);
  if (callId === undefined || !/^CA[0-9A-Fa-f]{32}$/.test(callId)) return undefined;
  const { attempt, prompt, keys } = address;
  const about = { callId, attempt, result: {} };
  if (isStatus(form, address)) {
    const codes = { code: integerIn(form['SipResponseCode']), subCode: integerIn(form['ErrorCode']) };
    const status = form['CallStatus'] ?? '';
    switch (status) {
      case 'initiated':
      case 'ringing':
        return { ...about, kind: 'ringing' };
      case 'in-progress':
        return { ...about, kind: 'connected' };
      case 'completed': {
        const seconds = integerIn(form['CallDuration']);
        const connectedMs = seconds === undefined ? undefined : seconds * 1_000;
        // 200 is the network's word for a call that was established.
        const code = codes.code === 200 ? undefined : codes.code;
        return { ...about, kind: 'disconnected', result: { ...codes, code }, connectedMs };
      }
      case 'busy':
      case 'no-answer':
      case 'failed':
      case 'canceled':
        return { ...about, kind: 'create failed', result: resultOfEnd(status, codes) };
      default:
        return 'other';
    }
  }
  const key = form['Digits'] ?? '';
  // The service asked for one key only.
  if (key !== '') return { ...about, kind: 'tone received', key: { key: key.slice(0, 1), sequence: keys } };
  return address.occasion === 'end' ? { ...about, kind: 'play completed', prompt } : 'other';
};
