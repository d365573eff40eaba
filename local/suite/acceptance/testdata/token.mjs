// Verifies an access token with the published keys. TOKEN, JWKS, ISSUER and AUDIENCE say what and against what.
import { createRemoteJWKSet, jwtVerify } from "jose";

const { TOKEN, JWKS, ISSUER, AUDIENCE } = process.env;
const { payload, protectedHeader } = await jwtVerify(TOKEN, createRemoteJWKSet(new URL(JWKS)), {
  issuer: ISSUER,
  audience: AUDIENCE,
  typ: "at+jwt",
  algorithms: ["EdDSA"],
  requiredClaims: ["sub", "iat", "exp", "jti", "scope", "company", "plan"],
});
console.log(JSON.stringify({ ...payload, alg: protectedHeader.alg, kid: protectedHeader.kid }));
