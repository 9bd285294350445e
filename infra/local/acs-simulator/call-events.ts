import { randomUUID } from 'node:crypto';

import type { Result } from './scenarios.ts';
import { API_VERSION } from './wire.ts';

/** What an event says of its call. */
export interface EventSubject {
  readonly callId: string;
  readonly serverCallId: string;
  readonly correlationId: string;
  readonly operationContext: string | undefined;
}

/** An event of ACS as a CloudEvent, in the shape of Microsoft's recorded traffic. */
export const callEvent = (kind: string, subject: EventSubject, result?: Result, more: object = {}) => {
  const type = `Microsoft.Communication.${kind}`;
  const path = `calling/callConnections/${subject.callId}`;
  return {
    id: randomUUID(),
    source: path,
    type,
    data: {
      version: API_VERSION,
      ...(subject.operationContext === undefined ? {} : { operationContext: subject.operationContext }),
      callConnectionId: subject.callId,
      ...(result === undefined ? {} : { resultInformation: { code: result[0], subCode: result[1], message: '' } }),
      ...more,
      serverCallId: subject.serverCallId,
      correlationId: subject.correlationId,
      publicEventType: type,
    },
    // Seven digits, as .NET writes them.
    time: `${new Date().toISOString().slice(0, -1)}1234+00:00`,
    specversion: '1.0',
    datacontenttype: 'application/json',
    subject: path,
  };
};

/** The callee as ParticipantsUpdated names them. */
export const participants = (number: string) => ({
  participants: [
    {
      identifier: {
        rawId: `4:${number}`,
        kind: 'phoneNumber',
        phoneNumber: { value: number, isAnonymous: false },
      },
      isMuted: false,
      isOnHold: false,
    },
  ],
  sequenceNumber: 1,
});
