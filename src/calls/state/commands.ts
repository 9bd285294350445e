import type { AttemptRef } from '../model/call-context.ts';
import { type Attempt, isLive, type LineTerms } from './attempt.ts';
import type { NotificationCase } from './notification.ts';
import { attemptOf } from './recipient.ts';

/**
 * What the instance that committed a change must do now.
 * - `dial`: send the call request; `find`: ask the line whether it knows a call of the attempt;
 * - `speak`: speak what the attempt is to say; `wait for keys`: wait, then report `no key`;
 * - `hang up`: end all calls of the attempt.
 */
export type Command = 'dial' | 'find' | 'speak' | 'wait for keys' | 'hang up';

/** A command, and the attempt that it is about. */
export interface CallCommand extends AttemptRef {
  readonly command: Command;
}

/** The commands of a change: the difference of the states is the list. @param before undefined: it is new */
export const commandsOf = (
  before: NotificationCase | undefined,
  after: NotificationCase,
  line: LineTerms,
): readonly CallCommand[] =>
  after.recipients.flatMap((recipient, index) => {
    const was = before?.recipients[index];
    if (recipient === was) return [];
    return recipient.attempts.flatMap((attempt): readonly CallCommand[] => {
      const command = commandOf(was && attemptOf(was, attempt.id), attempt, line);
      return command === undefined
        ? []
        : [{ command, notificationId: after.notification.id, index, attemptId: attempt.id }];
    });
  });

const commandOf = (was: Attempt | undefined, is: Attempt, { speaksByItself }: LineTerms): Command | undefined => {
  if (was === is) return undefined;
  switch (is.state) {
    case 'claimed':
      if (was?.state !== 'claimed' || was.sentAt !== is.sentAt) return 'dial';
      return is.soughtAt !== undefined && is.soughtAt !== was.soughtAt ? 'find' : undefined;
    case 'speaking': {
      if (speaksByItself) return undefined;
      const talk = was?.state === 'speaking' ? was.talk : undefined;
      const isNewSpeech =
        talk?.speech.number !== is.talk.speech.number || talk.speech.askedAt !== is.talk.speech.askedAt;
      // A message that storage did not know of is being spoken already.
      if (isNewSpeech && is.talk.speech.acceptedAt === undefined) return 'speak';
      return is.talk.quietSince !== undefined && talk?.quietSince === undefined ? 'wait for keys' : undefined;
    }
    case 'hanging_up':
      return was?.state !== 'hanging_up' || was.at !== is.at || was.callIds.length < is.callIds.length
        ? 'hang up'
        : undefined;
    case 'over':
      // Another call of the same request has been found.
      return was !== undefined && !isLive(was) && was.callIds.length < is.callIds.length ? 'hang up' : undefined;
    case 'ringing':
    case 'unexplained':
      return undefined;
  }
};
