import { type Panel, panelAbout } from '../model/page-state.ts';
import type { Question } from '../model/questions.ts';
import type { Endpoint, Reply } from './endpoint.ts';

/** One panel and the endpoint that fills it. */
export interface Feed<Answer> {
  readonly endpoint: Endpoint<Answer>;
  readonly shown: () => Panel<Answer>;
  readonly show: (panel: Panel<Answer>) => void;
}

/** Another subject's answer leaves the panel at once; what is known about the new one already is shown. */
export const turnTo = <Answer>(feed: Feed<Answer>, subject: string, known: Answer | undefined): void => {
  const before = feed.shown();
  const panel = panelAbout(before, subject, known);
  if (panel !== before) feed.show(panel);
};

/**
 * Asks and shows what comes; an answer to a question that was ended meanwhile is not shown.
 *
 * @param subject what the panel is about, where that is not the question itself
 */
export const askFor = async <Answer>(
  feed: Feed<Answer>,
  question: Question,
  signal: AbortSignal,
  subject: string = question,
): Promise<Reply<Answer>> => {
  turnTo(feed, subject, feed.endpoint.known(question));
  const reply = await feed.endpoint.ask(question, signal);
  if (signal.aborted) return reply;
  const before = feed.shown();
  if (reply.kind === 'trouble') feed.show({ subject, answer: before.answer, trouble: reply.trouble });
  // What has not changed is not shown again: nothing flickers.
  if (reply.kind === 'answer' && (reply.answer !== before.answer || before.trouble !== undefined)) {
    feed.show({ subject, answer: reply.answer, trouble: undefined });
  }
  return reply;
};
