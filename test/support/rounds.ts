/** How much longer random tests run than usual: `TEST_ROUNDS=10` tries ten times as many inputs. */
export const rounds = Number(process.env['TEST_ROUNDS'] ?? 1)
