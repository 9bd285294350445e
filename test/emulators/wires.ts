/** Both simulators without a network, in virtual time. A small service phones numbers through each, and notes what it meets. */
import { CallAutomationClient, VoiceKind } from '@azure/communication-call-automation';
import { onTestFinished, vi } from 'vitest';
import { z } from 'zod';

import { callingApi } from '../../infra/emulators/acs-simulator/calling-api.ts';
import type { AcsEvent } from '../../infra/emulators/acs-simulator/acs-call.ts';
import type { AppAnswer, PostEvent } from '../../infra/emulators/phone-network/deliveries.ts';
import type { SimulatorOptions } from '../../infra/emulators/phone-network/phone-network.ts';
import type { Reply } from '../../infra/emulators/phone-network/reply.ts';
import { Account } from '../../infra/emulators/twilio-simulator/account.ts';
import type { Form } from '../../infra/emulators/twilio-simulator/twilio-call.ts';

const PACE = { ringMs: 1_000, eventMs: 100, speakMs: 2_000 };
const OWN_NUMBER = '+12065550199';

const delayed = async (ms: number): Promise<void> => {
  if (ms > 0) await new Promise((resolve) => void setTimeout(resolve, ms));
};

const errorCode = z.union([
  z.object({ error: z.object({ code: z.string() }) }).transform(({ error }) => error.code),
  z.object({ code: z.number() }).transform(({ code }) => code),
]);

/** Notes each event with the milliseconds since the last call began. */
const newDiary = (calls: () => readonly { readonly createdAt: number }[]) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const note = (what: string): void => {
    const now = Date.now();
    lines.push(`${what} ${now - (calls().at(-1)?.createdAt ?? now)}`);
  };
  return {
    note,
    /** Notes why a request was refused, and returns it. */
    refusalIn: (reply: Reply): string | undefined => {
      if (typeof reply !== 'string' && reply.status < 400) return undefined;
      const { 'retry-after': after } = typeof reply === 'string' ? {} : (reply.headers ?? {});
      const error = typeof reply === 'string' ? reply : `${reply.status}/${errorCode.parse(reply.body)}`;
      const refusal = after === undefined ? error : `${error};retry-after=${after}`;
      note(refusal);
      return refusal;
    },
    /** The steps since the last read, and until the end of the call. */
    read: async (): Promise<string> => {
      await vi.advanceTimersByTimeAsync(50_000);
      return lines.splice(0).join(', ');
    },
  };
};

/** A request of Microsoft's client, after it was signed. */
interface Signed {
  readonly headers: { set: (name: string, value: string) => void; delete: (name: string) => void };
  body?: unknown;
}
export type Change = (request: Signed) => unknown;

/** ACS, asked by Microsoft's client. The service speaks, listens, speaks again at each key, and hangs up 4 s after a whole speech. */
export const acs = (options: SimulatorOptions = {}, change?: Change, version = {}) => {
  const post: PostEvent<AcsEvent> = async (_, { type, data }, afterMs) => {
    await delayed(afterMs);
    const kind = type.replace(/^Microsoft\.Communication\.(ContinuousDtmfRecognition)?/, '');
    const { code, subCode } = data.resultInformation;
    const tone = 'tone' in data ? String(data.tone) : '';
    diary.note(`${kind}${tone && ` ${tone}`}${code === 200 ? '' : ` ${code}/${subCode}`}`);
    void serve(kind, data.callConnectionId, tone);
    return undefined;
  };
  const accessKey = 'dGVzdA==';
  const { network, carryOut } = callingApi({ pace: PACE, ...options, post }, accessKey);
  const diary = newDiary(() => network.calls);
  let refusal: string | undefined;
  const insecure = { allowInsecureConnection: true, ...version };
  const client = new CallAutomationClient(`endpoint=http://acs/;accesskey=${accessKey}`, {
    ...insecure,
    retryOptions: { maxRetries: 0 },
    httpClient: {
      sendRequest: async (request) => {
        change?.(request);
        const { method, headers } = request;
        const url = new URL(request.url);
        const asked = { method, url: `${url.pathname}${url.search}`, headers: headers.toJSON() };
        const reply = network.answer('', () => carryOut(asked, url, z.string().default('').parse(request.body)));
        refusal = diary.refusalIn(reply);
        if (typeof reply === 'string') throw new Error(reply);
        // Of the headers, the client reads only the content type, which is the same.
        return { request, status: reply.status, headers, bodyAsText: JSON.stringify(reply.body) };
      },
    },
  });
  /** Why a request is refused; undefined: it is carried out. */
  const refusalOf = async (request: Promise<unknown>): Promise<string | undefined> => {
    await request.catch(() => undefined);
    return refusal;
  };
  const call = async (number: string, more = {}, callback = 'http://127.0.0.1:9/') => {
    const callers = { targetParticipant: { phoneNumber: number }, sourceCallIdNumber: { phoneNumber: OWN_NUMBER } };
    return refusalOf(client.createCall({ ...callers, ...more }, callback, more));
  };
  /** The requests about a call. */
  const about = (id: string) => {
    const connection = client.getCallConnection(id);
    const media = connection.getCallMedia();
    return {
      hangUp: async () => refusalOf(connection.hangUp(true)),
      listen: async (number: string) => refusalOf(media.startContinuousDtmfRecognition({ phoneNumber: number })),
      speak: async (text: string, interruptCallMediaOperation = false) => {
        const source = { kind: 'textSource', text, sourceLocale: 'en-US', voiceKind: VoiceKind.Female } as const;
        return refusalOf(media.playToAll([source], { interruptCallMediaOperation }));
      },
    };
  };
  const spokenTo = new Set<string>();
  const serve = async (type: string, id: string, tone: string): Promise<void> => {
    const { speak, listen, hangUp } = about(id);
    const isConnected = (): boolean => network.find(id)?.state === 'connected';
    if (type === 'CallConnected' && isConnected() && !spokenTo.has(id)) {
      spokenTo.add(id);
      await speak('A message');
      await listen(network.find(id)?.to ?? '');
    } else if (tone !== '' && isConnected()) await speak('Another', true);
    else if (type === 'PlayCompleted' || type === 'PlayFailed') {
      await delayed(4_000);
      if (isConnected()) await hangUp();
    }
  };
  return { name: 'ACS', network, call, about, read: diary.read };
};

const SAYS = '<Say voice="Polly.Joanna">';
const MESSAGE = `<Response>
  <Gather input="dtmf" numDigits="1" finishOnKey="" timeout="4" action="http://app/key"> ${SAYS}A message</Say></Gather>
  <Redirect>http://app/end</Redirect>
</Response>`;

/** Twilio. The instructions speak and listen. At the key 2 they speak again; other keys end the call. @param answer the service's only answer */
export const twilio = (options: SimulatorOptions = {}, answer: Partial<AppAnswer> = {}, answersMs = 0) => {
  const forms: Form[] = [];
  const post: PostEvent<Form> = async (url, form, afterMs) => {
    await delayed(afterMs);
    forms.push(form);
    const { CallStatus: status, Digits: key, SipResponseCode: sip, ErrorCode: error } = form;
    const asked = key === undefined ? url.replace('http://app/', '') : `key ${key}`;
    diary.note(asked === 'status' ? [status, sip, error].filter(Boolean).join(' ') : asked);
    const goodbye = key === undefined ? '' : `${SAYS}Goodbye</Say>`;
    const body = key === '2' ? MESSAGE : `<Response>${goodbye}<Hangup/></Response>`;
    await delayed(answersMs);
    return { status: 200, contentType: 'text/xml', body, ...answer };
  };
  const network = new Account({ pace: PACE, ...options, accountSid: 'AC', ownNumber: OWN_NUMBER, post });
  const diary = newDiary(() => network.calls);
  /** Why a request is refused; undefined: it is carried out. */
  const ask = (path: string, values: Readonly<Record<string, string>>, events: readonly string[] = []) => {
    const form = new URLSearchParams(values);
    for (const event of events) form.append('StatusCallbackEvent', event);
    return diary.refusalIn(network.reply({ method: 'POST', path, query: new URLSearchParams(), form }));
  };
  const call = async (number: string, more: Readonly<Record<string, string>> = { Twiml: MESSAGE }) => {
    const form = { To: number, From: OWN_NUMBER, StatusCallback: 'http://app/status', ...more };
    return ask('/Calls.json', form, ['initiated', 'answered', 'completed']);
  };
  return { name: 'Twilio', network, forms, ask, call, read: diary.read };
};
