/** How much longer random tests run than usual: `TEST_ROUNDS=10` tries ten times as many inputs. */
export const rounds = Number(process.env['TEST_ROUNDS'] ?? 1)

/** How many things a test of many uses: fewer show the same rule, and `npm run test:all` uses all of them. */
export const many = (usual: number, all: number): number =>
  process.env['TEST_ALL'] === undefined ? usual : all
