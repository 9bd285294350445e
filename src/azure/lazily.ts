/**
 * Creates an SDK's client with its first use, once: creating all of them takes a good part of the app's start.
 *
 * @example const table = lazily(() => tableClient(settings.tables, 'calls', credential)); table();
 */
export const lazily = <Made extends object>(make: () => Made): (() => Made) => {
  let made: Made | undefined;
  return () => (made ??= make());
};
