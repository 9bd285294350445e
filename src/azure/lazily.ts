/**
 * Makes something when it is first asked for, once. The SDKs' clients take a good part of the time that the app takes to start, and
 * most starts do not need all of them at once.
 *
 * @example const acs = lazily(() => connectToAcs(connection, credential)); acs();
 */
export const lazily = <Made extends object>(make: () => Made): (() => Made) => {
  let made: Made | undefined;
  return () => (made ??= make());
};
