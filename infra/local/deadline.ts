/**
 * The result of `work`, or `'late'` where it takes longer than this. The work itself goes on.
 *
 * @throws what `work` rejects with in time
 */
export const within = async <Result>(milliseconds: number, work: Promise<Result>): Promise<Result | 'late'> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, milliseconds, 'late');
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
