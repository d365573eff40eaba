"""LocalStack's settings. LocalStack reads them from the environment when it is imported, so call apply before the import."""

import os
import tempfile


def apply(port: int, home: str) -> None:
    """Sets LocalStack's settings for an instance on a loopback port with all its files under home."""
    os.environ.update(
        GATEWAY_LISTEN=f"127.0.0.1:{port}",
        # The host in the addresses that LocalStack generates, such as queue URLs. It needs no name server.
        LOCALSTACK_HOST=f"127.0.0.1:{port}",
        FILESYSTEM_ROOT=os.path.join(home, "root"),
        # No traffic to the outside: no certificates, no statistics, no name server.
        SKIP_SSL_CERT_DOWNLOAD="1",
        DISABLE_EVENTS="1",
        DNS_ADDRESS="0",
        DNS_RESOLVE_IP="127.0.0.1",
        EAGER_SERVICE_LOADING="0",
        # Use DynamoDB Local's own streams. The other provider emulates them on a Kinesis that it downloads.
        PROVIDER_OVERRIDE_DYNAMODB="v2",
        PROVIDER_OVERRIDE_DYNAMODBSTREAMS="v2",
        DYNAMODB_IN_MEMORY="1",
        # The defaults poll an empty queue every ten seconds and a stream every second.
        LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC="0.2",
        LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC="1",
        LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_ERROR_SEC="2",
    )
    os.environ.setdefault("LS_LOG", "warn")
    tempfile.tempdir = os.path.join(home, "tmp")
    os.makedirs(tempfile.tempdir, exist_ok=True)
